package media

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// cells reads an image column: files or pixels. What it returns aliases the column.
type cells struct {
	column arrow.Array
	data   interface{ Value(int) []byte }

	height, width, channels *array.Int32
	dtype                   *array.String
	profile                 interface{ Value(int) []byte }
}

func newCells(column arrow.Array, encoded bool) (*cells, error) {
	c := &cells{column: column}
	if e, ok := column.(array.ExtensionArray); ok {
		column = e.Storage()
	}
	if encoded {
		data, ok := column.(interface{ Value(int) []byte })
		if !ok {
			return nil, fmt.Errorf("storage is %s, want binary", column.DataType())
		}
		c.data = data
		return c, nil
	}
	s, ok := column.(*array.Struct)
	if !ok {
		return nil, fmt.Errorf("storage is %s, want a struct", column.DataType())
	}
	for i, f := range s.DataType().(*arrow.StructType).Fields() {
		switch f.Name {
		case "data":
			c.data, _ = s.Field(i).(interface{ Value(int) []byte })
		case "height":
			c.height, _ = s.Field(i).(*array.Int32)
		case "width":
			c.width, _ = s.Field(i).(*array.Int32)
		case "channels":
			c.channels, _ = s.Field(i).(*array.Int32)
		case "dtype":
			c.dtype, _ = s.Field(i).(*array.String)
		case "profile":
			c.profile, _ = s.Field(i).(interface{ Value(int) []byte })
		}
	}
	if c.data == nil || c.height == nil || c.width == nil || c.channels == nil {
		return nil, fmt.Errorf("storage is %s, want data, height, width and channels of sluice.pixels", column.DataType())
	}
	return c, nil
}

func (c *cells) null(row int) bool { return c.column.IsNull(row) }

func (c *cells) file(row int) []byte { return c.data.Value(row) }

// pixels views one decoded picture. Its size is checked against its bytes, since pixels may come from files of others.
func (c *cells) pixels(row int) (*imaging.Image, error) {
	depth := 8
	if c.dtype != nil && c.dtype.IsValid(row) {
		switch t := c.dtype.Value(row); t {
		case "uint8", "":
		case "uint16":
			depth = 16
		default:
			return nil, fmt.Errorf("%w: pixels of %s, want uint8 or uint16", imaging.ErrUnsupported, t)
		}
	}
	var profile []byte
	if c.profile != nil {
		profile = c.profile.Value(row)
	}
	if len(profile) == 0 {
		profile = nil
	}
	m, err := imaging.Wrap(c.data.Value(row), int(c.width.Value(row)), int(c.height.Value(row)), int(c.channels.Value(row)), depth, profile)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", imaging.ErrCorrupt, err)
	}
	return m, nil
}
