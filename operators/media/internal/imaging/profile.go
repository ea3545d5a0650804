package imaging

// settleProfile drops a colour profile that does not describe the samples any more: one for CMYK or RGB after
// a conversion to grey, one for grey after an expansion to RGB, and broken ones.
func settleProfile(m *Image) {
	const header, spaceAt = 128, 16 // ICC.1:2010, 7.2
	if m.Profile == nil {
		return
	}
	want := "RGB "
	if m.Model == Grey {
		want = "GRAY"
	}
	if len(m.Profile) < header || string(m.Profile[spaceAt:spaceAt+4]) != want {
		m.Profile = nil
	}
}
