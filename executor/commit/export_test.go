package commit

// SetCrashpoint makes the process call f at the named moments; tests kill it there.
func SetCrashpoint(f func(string)) { crashpoint = f }
