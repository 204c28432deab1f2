// Package explain makes the page of a message of the Kafka protocol: what it is for, which releases have it, which errors it brings, how its bytes are laid
// out, its schema with explanations, and an example.
//
// A [Page] is about an API at one version, or about another structure of the catalog; a [Part] is its request, its response or the structure. What is
// shown are the smallest legal messages, as package encode writes them and package dissect reads them. Text, JSON and HTML are written from the same page.
package explain
