// Package child runs processes that work for a stage: interpreters of user functions (operators/python) and copies of this program that decode
// (operators/isolate). Messages cross a socket pair, batches in shared memory; nothing listens and nothing is pickled.
//
// A process is a group of its own, which a Ctrl-C for us does not reach. It ends with us: the kernel kills it on Linux, elsewhere a pipe that it reads
// ends. What it prints goes to the log, line by line, and the last lines are part of what is said when it dies. Memory that its answers lie in is
// a Slab, charged to the stage.
//
// Read proc.go first; the protocols are those of the packages that start the processes.
package child
