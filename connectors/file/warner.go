package file

// Warner is a dataset.Encoder that has something to say about what it wrote. The sink asks it after Close and passes each warning to
// Runtime.Warn.
type Warner interface {
	Warnings(warn func(class, example string))
}
