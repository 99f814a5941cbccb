/** Trusted: whose signatures count, as a person reads it. */
import type { TrustShown } from "../../../protocol/documents/trust.ts";
import type { FromPlace } from "../../../protocol/trust.ts";
import { table } from "../frame/table.ts";

const place = ({ after, announced }: FromPlace): string =>
  after === undefined ? `announced at ${announced}, not settled: run it again` : `after message ${after}`;

/** The document as text. */
export function trustText({ required, keys, hosts, did, fault }: TrustShown): string {
  const lines = [
    ...(fault === undefined ? [] : [`cannot be read: ${fault}`]),
    required === undefined ? "turns need not be signed" : `turns must be signed, ${place(required)}`,
    ...(did === "would" ? ["would be changed; --yes does it"] : []),
    ...(did === "nothing" ? ["it was so already"] : []),
  ];
  if (keys.length > 0) {
    const rows = keys.map(({ key, name = "", by, withdrawn }) => [
      ...[key, name, by],
      withdrawn === undefined ? "counts" : `withdrawn, ${place(withdrawn)}`,
    ]);
    lines.push("", table(["KEY", "NAME", "BY", "STATE"], rows));
  }
  if (hosts.length > 0) {
    const rows = hosts.map(({ host, revision, signs = "nothing", ready }) => [
      ...[host, signs, ready ? "yes" : "no"],
      revision === undefined ? "of a former version" : String(revision),
    ]);
    lines.push("", table(["HOST", "SIGNS WITH", "COUNTS", "REVISION"], rows));
  }
  return lines.join("\n");
}
