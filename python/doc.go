// Package pyhost holds the Python code that runs in host processes of user functions, for operators/python, which starts them. The same files
// are the Python package sluice, which pip installs from this folder; user code needs neither.
//
// Read sluice/_host.py for the protocol, sluice/_call.py for how functions are called.
package pyhost
