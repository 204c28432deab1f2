package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/kdissect/kdissect/schema"
)

// List is a table of every API: key, name, versions, those that are flexible, where it is served, and the versions of each release.
func List(catalog *schema.Catalog) string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	releases := catalog.Releases()
	fmt.Fprintf(table, "KEY\tAPI\tVERSIONS\tFLEXIBLE\t%s\tLISTENERS\n", strings.Join(releases, "\t"))
	for api := range catalog.AllAPIs {
		key := fmt.Sprint(api.Key)
		if api.Key < 0 {
			key = "TBD"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s", key, api.Name, versionsOf(api), api.Flexible.Intersect(api.Versions))
		request := catalog.MessageOf(api, schema.Request)
		for _, kafka := range releases {
			fmt.Fprintf(table, "\t%s", releasedVersions(request, kafka))
		}
		fmt.Fprintf(table, "\t%s\n", listenersOf(request))
	}
	table.Flush() // a strings.Builder takes everything
	b.WriteString("\n~ the newest version is not released yet; - the release does not have the API\n")
	return b.String()
}

func versionsOf(api *schema.API) string {
	if api.Unstable {
		return api.Versions.String() + "~"
	}
	return api.Versions.String()
}

// releasedVersions are the versions that a release has of a message. A ~ says that the newest of them is not released yet.
func releasedVersions(m *schema.Message, kafka string) string {
	if m == nil {
		return "-"
	}
	for _, r := range m.Releases {
		if r.Kafka != kafka || r.Versions.Empty() {
			continue
		}
		if r.Unstable {
			return r.Versions.String() + "~"
		}
		return r.Versions.String()
	}
	return "-"
}

func listenersOf(m *schema.Message) string {
	if m == nil || len(m.Listeners) == 0 {
		return "-"
	}
	return strings.Join(m.Listeners, ",")
}
