package run

// SettingError says that the value of a setting is wrong: by itself, or for the data set or
// the network, which shows only when these are there.
type SettingError struct {
	Place string // of the setting, or the group that it is in
	Err   error
}

func (e *SettingError) Error() string { return e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// AtSetting marks an error as that of a setting; nil stays nil.
func AtSetting(place string, err error) error {
	if err == nil {
		return nil
	}
	return &SettingError{place, err}
}
