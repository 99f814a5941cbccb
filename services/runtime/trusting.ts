/** Trusting: the ports of a process with a ledger that knows whose signatures count, and goes on hearing of it. */
import { describeError } from "../../protocol/errors.ts";
import { limits } from "../../protocol/limits.ts";
import { createTrust, type TrustKeeper, trustedLedger, withStanding } from "../ledger/trust.ts";
import type { Ledgers } from "../nats/ledgers.ts";
import { patiently } from "../wire/patience.ts";
import type { Clock, Ports } from "../wire/ports.ts";
import { checkSignature } from "./signing.ts";
import { systemClock } from "./system.ts";

/**
 * Reads it once before this resolves, and then with each beat until `forget`. What is not answered is asked for again:
 * meanwhile what was heard holds, and after a host's time to live nothing is appended by it. Throws UNAVAILABLE after 30 s.
 */
export async function withTrust<P extends Ports>(
  ports: P,
  clock: Clock,
  report: (line: string) => void,
): Promise<{ readonly ports: P & Required<Pick<Ports, "trust">>; readonly forget: () => void }> {
  const trust = createTrust({ registry: ports.registry, clock, check: checkSignature });
  await patiently(clock, () => trust.learn());
  const over = new AbortController();
  void hear({ trust, clock, report }, over.signal);
  return {
    ports: { ...ports, ledger: trustedLedger(ports.ledger, trust, clock), trust },
    forget: () => over.abort(),
  };
}

/** The same of ledgers that are looked at once, and nothing of which is appended to. Throws UNAVAILABLE. */
export async function trustedReader<L extends Ledgers>(ledgers: L): Promise<L> {
  const trust = createTrust({ registry: ledgers.registry, clock: systemClock, check: checkSignature });
  await trust.learn();
  return { ...ledgers, ledger: withStanding(ledgers.ledger, trust) };
}

interface Hearing {
  readonly trust: TrustKeeper;
  readonly clock: Clock;
  readonly report: (line: string) => void;
}

async function hear({ trust, clock, report }: Hearing, signal: AbortSignal): Promise<void> {
  for (let told: string | undefined; ;) {
    await clock.sleep(limits.hostBeatMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    await trust.learn().catch(() => undefined); // It is asked for again.
    const fault = trust.fault();
    const line = fault && describeError(fault);
    if (line !== undefined && line !== told) report(line);
    told = line;
  }
}
