// Command franz-go does what an application does with a broker: franz-go ADDRESS.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	topic   = "franz-go"
	records = 300 // for each codec
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// connect returns a client that does not wait seconds before it asks for a new topic again.
func connect(address, id string, more ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(more, kgo.SeedBrokers(address), kgo.ClientID("franz-go-"+id), kgo.MetadataMinAge(100*time.Millisecond))...)
}

func run(ctx context.Context, address string) error {
	if err := create(ctx, address); err != nil {
		return err
	}
	for name, codec := range codecs {
		if err := produce(ctx, address, name, codec); err != nil {
			return err
		}
	}
	return consume(ctx, address)
}

func create(ctx context.Context, address string) error {
	client, err := connect(address, "admin")
	if err != nil {
		return err
	}
	defer client.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = topic, 3, 1
	request.Topics, request.TimeoutMillis = append(request.Topics, wanted), 30_000
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

func produce(ctx context.Context, address, name string, codec kgo.CompressionCodec) error {
	client, err := connect(address, name, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec))
	if err != nil {
		return err
	}
	defer client.Close()
	for i := range records {
		client.Produce(ctx, &kgo.Record{
			Key:     fmt.Append(nil, "key ", i),
			Value:   []byte(strings.Repeat("value ", i)),
			Headers: []kgo.RecordHeader{{Key: "codec", Value: []byte(name)}},
		}, nil)
	}
	return client.Flush(ctx)
}

func consume(ctx context.Context, address string) error {
	client, err := connect(address, "consumer", kgo.ConsumerGroup("franz-go"), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())
	if err != nil {
		return err
	}
	defer client.Close()
	for read := 0; read < len(codecs)*records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		read += fetches.NumRecords()
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
	return nil
}
