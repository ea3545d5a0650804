package sluice

import "strconv"

// Decode decodes pictures into pixels and adds the width, height and format of the file.
func (d Dataset) Decode(options ...string) Dataset { return d.Step("decode", join(options)) }

// Frames makes a row of each frame of animated pictures, decoded: Frames("every=5", "max=16"). A still picture gives one.
func (d Dataset) Frames(options ...string) Dataset { return d.Step("frames", join(options)) }

// Resize resizes pictures to exactly width x height; Resize(224, 224, "fit=fill") covers the size and crops, "fit=fit" fits inside.
func (d Dataset) Resize(width, height int, options ...string) Dataset {
	return d.Step("resize", join(options, size(width, height)))
}

// Crop cuts width x height pixels out of the middle of pictures.
func (d Dataset) Crop(width, height int, options ...string) Dataset {
	return d.Step("crop", join(options, size(width, height)))
}

// CropAt cuts width x height pixels out of pictures, beginning x from the left and y from the top.
func (d Dataset) CropAt(x, y, width, height int, options ...string) Dataset {
	return d.Step("crop", join(options, size(width, height)+"+"+strconv.Itoa(x)+"+"+strconv.Itoa(y)))
}

// Convert changes the channels of pictures: "rgb", "grey" or "rgba".
func (d Dataset) Convert(mode string, options ...string) Dataset {
	return d.Step("convert", join(options, quote(mode)))
}

// Encode encodes pixels: Encode("jpeg", 75), Encode("png", 0).
func (d Dataset) Encode(format string, quality int, options ...string) Dataset {
	return d.Step("encode", join(options, quote(format), strconv.Itoa(quality)))
}

// ToTensor turns pictures of width x height into float32 tensors: ToTensor(224, 224, "layout=hwc", "mean=0.5", "std=0.5").
func (d Dataset) ToTensor(width, height int, options ...string) Dataset {
	return d.Step("to-tensor", join(options, size(width, height)))
}

// PHash adds phash, a perceptual hash of pictures.
func (d Dataset) PHash(options ...string) Dataset { return d.Step("phash", join(options)) }

// Score adds blur, brightness and entropy of pictures.
func (d Dataset) Score(options ...string) Dataset { return d.Step("score", join(options)) }

// MarkDuplicates adds duplicate_of: the path of the first picture whose hash differs in at most distance bits, else null.
func (d Dataset) MarkDuplicates(hash string, distance int, options ...string) Dataset {
	return d.Step("mark-duplicates", join(options, quote(hash), strconv.Itoa(distance)))
}
