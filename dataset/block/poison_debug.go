//go:build sluicedebug

package block

// poison overwrites released memory so that a use after release is seen at once.
func poison(b []byte) {
	for i := range b {
		b[i] = 0xDB
	}
}
