package object

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSettings reads a file with every section; the environment counts before it.
func TestSettings(t *testing.T) {
	s, err := parseSettings("sluice.yaml", []byte(`
s3:
  endpoint: http://localhost:9000
  region: eu-central-1
  profile: lab
gs: {anonymous: true}
az:
  account: pictures
object:
  ranges: 12
  stall: 3s
`))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SLUICE_S3_REGION": "us-west-2", "SLUICE_OBJECT_RANGES": "2"}
	c, err := fromEnv(func(k string) string { return env[k] }, s)
	if err != nil {
		t.Fatal(err)
	}
	if c.S3Endpoint != "http://localhost:9000" || !c.S3PathStyle || c.S3Region != "us-west-2" || c.S3Profile != "lab" || !c.GSAnonymous || c.AZAccount != "pictures" ||
		c.Ranges != 2 || c.Stall != 3*time.Second || c.Files != 16 {
		t.Errorf("%+v", c)
	}
}

// TestSettingsRefused checks that what a settings file may not say is refused, with its place and without its value.
func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"s3:\n  regoin: x\n", "sluice.yaml:2: s3.regoin: there is no such key; there are anonymous, endpoint, path_style, profile, region"},
		{"S3: {region: x}\n", "there is no section S3; there are az, gs, object, s3"},
		{"s3:\n  region: x\n  secret_access_key: geheim\n", "sluice.yaml:3: s3.secret_access_key: credentials are not read from settings"},
		{"gs: {endpoint: 'http://geheim'}\n", "SLUICE_GS_ENDPOINT"},
		{"az: {endpoint: 'http://geheim'}\n", "SLUICE_AZ_ENDPOINT"},
		{"s3: [geheim]\n", "want sections of keys"},
		{"geheim\n", "want sections of keys"},
		{"s3: {region: [geheim]}\n", "s3.region: want one value"},
		{"object: {ranges: 0}\n", `sluice.yaml:1: object.ranges: "0": want a number from 1 to 256`},
		{"s3: {anonymous: perhaps}\n", `sluice.yaml:1: s3.anonymous: "perhaps": want true or false`},
	} {
		s, err := parseSettings("sluice.yaml", []byte(c.text))
		if err == nil {
			_, err = fromEnv(func(string) string { return "" }, s)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "http://geheim") {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
	if s, err := parseSettings("sluice.yaml", nil); err != nil || len(s) != 0 {
		t.Errorf("an empty file: %v, %v", s, err)
	}
}

// TestSettingsFound looks for the file where it may be, the nearest first.
func TestSettingsFound(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Chdir(work)
	env := map[string]string{}
	region := func() string {
		s, err := loadSettings(func(k string) string { return env[k] })
		if err != nil {
			t.Fatal(err)
		}
		return s["SLUICE_S3_REGION"].value
	}
	if got := region(); got != "" {
		t.Errorf("without a file: %q", got)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sluice", settingsName), "s3: {region: user}\n")
	if got := region(); got != "user" {
		t.Errorf("with the user's file: %q", got)
	}
	write(t, settingsName, "s3: {region: here}\n")
	if got := region(); got != "here" {
		t.Errorf("with a file here: %q", got)
	}
	named := filepath.Join(work, "other.yaml")
	write(t, named, "s3: {region: named}\n")
	env["SLUICE_CONFIG"] = named
	if got := region(); got != "named" {
		t.Errorf("with a file that is named: %q", got)
	}
	env["SLUICE_CONFIG"] = named + "x"
	_, err = loadSettings(func(k string) string { return env[k] })
	if _, usage := errors.AsType[*dataset.UsageError](err); !usage {
		t.Errorf("a file that is named and not there: %v", err)
	}
	write(t, named, strings.Repeat("#", maxSettings+1))
	env["SLUICE_CONFIG"] = named
	if _, err = loadSettings(func(k string) string { return env[k] }); err == nil || !strings.Contains(err.Error(), "64KiB") {
		t.Errorf("a file over the limit: %v", err)
	}
}
