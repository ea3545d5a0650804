// Package python is the step "python": functions and classes of users, in Python, on batches.
//
// A stage has a pool of host processes. Each loads the class once and is then given one batch after the other. A batch crosses as Arrow in shared
// memory (dataset/store): it is copied there once, the process maps it, and what the function returns is read where the process wrote it; columns that come
// back as they were given are not written at all. Control messages go over a socket pair; nothing listens and nothing is pickled.
//
// One instance of the operator owns the pool and has calls in flight with Runtime.Async, two for each process, so that the next batch is encoded while one is
// computed. What fails is divided until the rows that make it fail are found, whether the function raised, hung, or took its process with it. Processes are
// started as memory and work allow, restarted with growing waits when they die, and end with us: by the kernel on Linux, by a closed pipe elsewhere.
//
// What the engine must know before anything runs, above all the columns that come out, the class says in attributes that a short process reads at plan time
// (describe.go); no object is made for it.
//
// Read params.go for what can be asked for, spec.go for plan time, op.go for the instance, call.go for one batch, pool.go and proc.go for the processes.
// The other side is in the folder python of the repository.
package python
