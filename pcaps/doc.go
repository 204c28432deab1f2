// Package pcaps reads packet captures.
//
// [Open] takes a file, [NewSource] any stream. Both tell the format by content: classic pcap
// or pcapng, as they are or compressed with gzip or zstd. A [Source] then yields [Batch] after
// Batch, each with the packets that one read brought. [OpenAll] reads several files as one, in the
// order of time, and [Follow] a file that is still being written. The loop is the same for all:
//
//	source, err := pcaps.Open("kafka.pcap")
//	if err != nil {
//		return err
//	}
//	defer source.Close()
//	var batch pcaps.Batch
//	for {
//		err := source.Next(&batch)
//		if err == io.EOF {
//			return nil
//		}
//		if damage := (*pcaps.DamageError)(nil); errors.As(err, &damage) {
//			fmt.Println(damage) // what follows it is read
//			continue
//		}
//		if err != nil {
//			return err
//		}
//		for _, packet := range batch.Packets {
//			fmt.Println(packet.Number, packet.Link, len(packet.Data))
//		}
//		batch.Release()
//	}
//
// # The way of a byte
//
// No packet is copied. A read call puts bytes into a slab, a piece of memory of up to 512 KiB; the
// decoder of the format finds the packets in it; their Data point into the slab. Slab and packets go
// to the receiver as a Batch. A record that has not arrived whole stays where it is until the
// next read adds to it, or, when the slab is full, moves to the next slab.
//
//	slab   |####################################------|     # read, - free
//	        [packet][packet][packet][packet][unfin...
//	        '------ Batch ----------------''- next Batch, same slab or a new one
//
// A slab is counted by its holders: the reader as long as it writes to it, and each Batch until
// its last [Batch.Release]. Then it is used again. Whoever wants to keep a packet's bytes for
// longer holds the Batch with [Batch.Retain], or copies them.
//
// # Damage
//
// Captures are cut by full disks and killed tools, and overwritten in the middle. All packets in front of the damage
// are handed over; then comes a [*DamageError] with the place; then the packets behind it, once the reader has
// found its way again. See [Source] for the contract. Memory is given to bytes that are there, never to
// a length that a file claims: a record grows with what arrives, and one that claims more than 16
// MiB is damage. A pcapng block of that size that cannot be a packet is passed over.
//
// What a pcapng block says wrong inside costs that block alone. Where a length is wrong, reading goes on at the next block that has its
// length at both ends and another block behind it. Packets of an interface the description of which is lost
// cannot be read: their link type is not known.
//
// Classic pcap has no such marks. The header of a packet is trusted if it is like those that writers write: captured as long as
// on the wire or as the snap length, fractions below a second, a time near the last. A header that is not like
// that is trusted if one that is stands behind its packet. Where none does, reading goes on at the next three packets in
// a row. A changed time stamp or wire length cannot be told from a true one, nor can changed contents.
//
// # Specifications
//
// Classic pcap follows draft-ietf-opsawg-pcap, pcapng draft-ietf-opsawg-pcapng. Where writers
// stray from them and what they mean is plain, packets are taken all the same: snap lengths that are
// too small, captured lengths above the wire's, blocks without padding, lists of options
// without an end.
package pcaps
