/** What is wrong with whose signatures count. Pure. */
import { type Judge, warning, wrong } from "./finding.ts";

export const judgeTrust: Judge = ({ trust }) => {
  if (trust === undefined) return [];
  const { required, keys, hosts, fault } = trust;
  if (fault !== undefined)
    return [
      wrong(
        "TRUST_UNREADABLE",
        `whose signatures count cannot be read: ${fault}`,
        "Put the entry `trust` of the bucket REGISTRY back from a backup: hosts that start decide nothing without it.",
      ),
    ];
  const pending = [required, ...keys.map(({ withdrawn }) => withdrawn)].some(
    (one) => one !== undefined && one.after === undefined,
  );
  const refused = required === undefined ? [] : hosts.filter(({ ready }) => !ready);
  return [
    ...(pending
      ? [
          warning(
            "TRUST_UNSETTLED",
            "whose signatures count was changed, and that did not come to its end",
            "Run the same `sagamesh trust require` or `remove` again; `sagamesh trust` says which.",
          ),
        ]
      : []),
    ...(refused.length === 0
      ? []
      : [
          wrong(
            "SIGNER_REFUSED",
            `turns must be signed, and ${refused.map(({ host, signs }) => `${host} signs with ${signs ?? "nothing"}`).join(", ")}, which does not count: it appends nothing`,
            "Start it with SAGAMESH_HOST_NKEY and a key that `sagamesh trust` lists, or `sagamesh trust add` its key.",
          ),
        ]),
  ];
};
