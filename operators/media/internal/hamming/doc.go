// Package hamming finds 64-bit hashes within a distance in bits of each other without comparing each with all.
//
// An [Index] is exact: it finds what a scan over all hashes would find. It cuts hashes into four bands of 16 bits; two hashes
// within distance d agree in at least one band up to d/4 bits, so only hashes that share nearly a band are compared (multi-index
// hashing; Norouzi, Punjani, Fleet, "Fast Exact Search in Hamming Space with Multi-Index Hashing", 2014). For few
// hashes, and for distances above [MaxIndexed], it scans.
package hamming
