//go:build !sluicedebug

package block

// Release builds keep no table of live blocks; build with the tag sluicedebug to find leaks by their stack.

func trackNew(*Block)  {}
func trackFree(*Block) {}
