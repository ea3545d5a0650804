// Package thumb draws small pictures on a terminal: as half blocks of coloured text, which every terminal shows, or by the graphics protocol
// of kitty or as sixels where the terminal says that it knows them.
//
// Detect asks the terminal. Draw writes a row of pictures side by side and leaves the cursor below them. The encoders are those of
// charmbracelet/x/ansi. Nothing here decodes files; pictures come as image.Image, small ones.
//
// Read draw.go first.
package thumb
