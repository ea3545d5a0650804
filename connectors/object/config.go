package object

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// Config says how object stores are reached and read: by the environment, and by a settings file where it says nothing. The clouds' own variables
// (AWS_REGION, AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS, STORAGE_EMULATOR_HOST, AZURE_STORAGE_KEY and so on) are read by their clients.
type Config struct {
	S3Endpoint  string // SLUICE_S3_ENDPOINT: the address of a store that is not Amazon's, "http://localhost:9000"
	S3PathStyle bool   // SLUICE_S3_PATH_STYLE: buckets are folders of the address; the default where an endpoint is set
	S3Region    string // SLUICE_S3_REGION, else that of AWS
	S3Profile   string // AWS_PROFILE: whose credentials count, unless AWS_ACCESS_KEY_ID is set
	S3Anonymous bool   // SLUICE_S3_ANONYMOUS: requests are not signed
	GSEndpoint  string // SLUICE_GS_ENDPOINT: the address of a store that speaks Google's protocol, "http://localhost:4443"
	GSAnonymous bool   // SLUICE_GS_ANONYMOUS
	AZEndpoint  string // SLUICE_AZ_ENDPOINT: the address of an account, "http://localhost:10000/NAME"; that of Azure by the account's name
	AZAccount   string // AZURE_STORAGE_ACCOUNT
	AZAnonymous bool   // SLUICE_AZ_ANONYMOUS

	Ranges     int           // SLUICE_OBJECT_RANGES: ranges of one file that are read at the same time; 4
	Files      int           // SLUICE_OBJECT_FILES: small files of one reader that are fetched at the same time; 16
	RangeBytes int64         // SLUICE_OBJECT_RANGE_SIZE: of one range, 4 MiB
	AheadBytes int64         // SLUICE_OBJECT_READ_AHEAD: that all files together read ahead of need; 256 MiB
	Patience   time.Duration // SLUICE_OBJECT_PATIENCE: reading ends with an error when nothing has arrived for so long; 1 minute
	Stall      time.Duration // SLUICE_OBJECT_STALL: a body that gives nothing for so long is asked for again; 15 s
	UploadPart int64         // SLUICE_OBJECT_UPLOAD_PART: of a big upload, 8 MiB; a store takes 10,000 of them
	UploadMany int           // SLUICE_OBJECT_UPLOADS: parts of one upload that are under way at once; 3
}

// FromEnv reads the configuration from the environment and the settings file.
func FromEnv() (Config, error) {
	file, err := loadSettings(os.Getenv)
	if err != nil {
		return Config{}, err
	}
	return fromEnv(os.Getenv, file)
}

func fromEnv(env func(string) string, file settings) (Config, error) {
	e := envReader{get: env, file: file}
	c := Config{
		S3Endpoint: e.text("SLUICE_S3_ENDPOINT", ""), S3Region: e.text("SLUICE_S3_REGION", ""), S3Anonymous: e.flag("SLUICE_S3_ANONYMOUS", false),
		S3Profile: e.text("AWS_PROFILE", ""), AZAccount: e.text("AZURE_STORAGE_ACCOUNT", ""),
		GSEndpoint: e.text("SLUICE_GS_ENDPOINT", ""), GSAnonymous: e.flag("SLUICE_GS_ANONYMOUS", false),
		AZEndpoint: e.text("SLUICE_AZ_ENDPOINT", ""), AZAnonymous: e.flag("SLUICE_AZ_ANONYMOUS", false),
		Ranges: int(e.number("SLUICE_OBJECT_RANGES", 4, 1, 256)), UploadMany: int(e.number("SLUICE_OBJECT_UPLOADS", 3, 1, 64)),
		Files:      int(e.number("SLUICE_OBJECT_FILES", 16, 1, 1024)),
		RangeBytes: e.size("SLUICE_OBJECT_RANGE_SIZE", 4<<20, 64<<10, 256<<20), UploadPart: e.size("SLUICE_OBJECT_UPLOAD_PART", 8<<20, 5<<20, 1<<30),
		AheadBytes: e.size("SLUICE_OBJECT_READ_AHEAD", 256<<20, 0, 1<<40),
		Patience:   e.duration("SLUICE_OBJECT_PATIENCE", time.Minute), Stall: e.duration("SLUICE_OBJECT_STALL", 15*time.Second),
	}
	c.S3PathStyle = e.flag("SLUICE_S3_PATH_STYLE", c.S3Endpoint != "")
	return c, e.err
}

// envReader reads variables, and settings in their place, and keeps the first mistake.
type envReader struct {
	get  func(string) string
	file settings
	err  error
}

func (e *envReader) bad(name, value, want string) {
	if e.err != nil {
		return
	}
	if strings.TrimSpace(e.get(name)) == "" {
		e.err = dataset.Usagef("%s: %q: want %s", e.file[name].where, value, want)
		return
	}
	e.err = dataset.Usagef("%s=%q: want %s", name, value, want)
}

func (e *envReader) text(name, or string) string {
	if v := strings.TrimSpace(e.get(name)); v != "" {
		return v
	}
	if s := e.file[name]; s.value != "" {
		return s.value
	}
	return or
}

func (e *envReader) flag(name string, or bool) bool {
	v := e.text(name, "")
	if v == "" {
		return or
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		e.bad(name, v, "true or false")
	}
	return b
}

func (e *envReader) number(name string, or, least, most int64) int64 {
	v := e.text(name, "")
	if v == "" {
		return or
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		e.bad(name, v, fmt.Sprintf("a number from %d to %d", least, most))
	}
	return n
}

func (e *envReader) size(name string, or, least, most int64) int64 {
	v := e.text(name, "")
	if v == "" {
		return or
	}
	n, err := dataset.ParseByteSize(v)
	if err != nil || int64(n) < least || int64(n) > most {
		e.bad(name, v, fmt.Sprintf("a size from %s to %s", dataset.ByteSize(least), dataset.ByteSize(most)))
	}
	return int64(n)
}

func (e *envReader) duration(name string, or time.Duration) time.Duration {
	v := e.text(name, "")
	if v == "" {
		return or
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		e.bad(name, v, "a duration like 30s")
	}
	return d
}
