// Package arraytest has what tests of code on Arrow arrays need and what depends on nothing but Arrow: a memory allocator that finds
// leaks and reads of unwritten memory, random arrays of every type that the engine carries, and rows as text for comparison.
package arraytest
