/** A host that hears of no other, and so takes every partition: what placement must never have to prevent. */
import type { Ports } from "../../services/wire/ports.ts";

/** The ports of such a host. */
export function aloneIn(ports: Ports, incarnation: string): Ports {
  const { membership } = ports;
  return {
    ...ports,
    membership: {
      ...membership,
      hosts: async () => (await membership.hosts()).filter(({ host }) => host.startsWith(incarnation)),
      follow: async function* () {},
    },
  };
}
