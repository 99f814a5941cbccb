/**
 * The reply subject of a delivery, in which JetStream says what it is:
 * `$JS.ACK.<stream>.<consumer>.<deliveries>.<seq>.<delivery>.<time>.<pending>`, or the newer form with domain
 * and account before the stream.
 */

export interface Place {
  /** How often the message was delivered, this time included. */
  readonly deliveries: number;
  /** The message's sequence in the stream. */
  readonly seq: number;
  /** The delivery's own number in the consumer. */
  readonly delivery: number;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

/** The numbers of the subject; not-a-number where it is none. */
export function parseAckSubject(subject: string): Place {
  const tokens = subject.split(".");
  const first = tokens.length === 9 ? 4 : 6;
  return {
    deliveries: Number(tokens[first]),
    seq: Number(tokens[first + 1]),
    delivery: Number(tokens[first + 2]),
    storedAt: Math.floor(Number(tokens[first + 3]) / 1e6),
  };
}
