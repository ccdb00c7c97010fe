package metric

// MarshalText writes the metric as Parse reads it, so that it stands in
// files by its name.
func (m Metric) MarshalText() ([]byte, error) {
	if err := m.Validate(); err != nil && m.Kind != Links {
		return nil, err
	}
	return []byte(m.String()), nil
}

// UnmarshalText reads what Parse reads, and the name of Links: a specification may have it.
func (m *Metric) UnmarshalText(text []byte) error {
	if string(text) == linksName {
		*m = Metric{Kind: Links}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*m = parsed
	return nil
}
