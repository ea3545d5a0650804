package pyhost

import (
	_ "embed"
	"encoding/json"
)

//go:embed sluice/_boot.py
var boot string

//go:embed sluice/_find.py
var find string

//go:embed sluice/_columns.py
var columns string

//go:embed sluice/_call.py
var call string

//go:embed sluice/_host.py
var host string

// Boot is the program that an interpreter is started with (-c). It reads Modules from file descriptor 3, after four bytes of length, and runs them.
func Boot() string { return boot }

// Modules are the modules of the host, as the program of Boot reads them.
func Modules() []byte {
	p, err := json.Marshal([][2]string{{"_find", find}, {"_columns", columns}, {"_call", call}, {"_host", host}})
	if err != nil {
		panic(err) //nolint // text always marshals
	}
	return p
}
