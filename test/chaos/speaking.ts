/** The simulator's speakers (clients, people, the outside) on a real mesh; notes what the server acked of theirs. */
import type { Ports } from "../../services/wire/ports.ts";
import { systemClock } from "../../services/runtime/system.ts";
import type { SpeakingMesh } from "../simulation/speaking.ts";
import type { Lines } from "./lines.ts";

/** An input that the server acked to who sent it. */
export interface Acked {
  readonly subject: string;
  readonly seq: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly msgId: string | undefined;
  readonly body: string;
}

export function speakingMesh(ports: Pick<Ports, "inbox">, acks: Lines<Acked>): SpeakingMesh {
  const publish: Ports["inbox"]["publish"] = async (message) => {
    const { subject, headers, msgId, data } = message;
    const ack = await ports.inbox.publish(message);
    acks.write({ subject, seq: ack.seq, headers, msgId, body: Buffer.from(data).toString() });
    return ack;
  };
  return {
    clock: {
      now: () => Date.now(),
      at: (dueAt, fire) => setTimeout(fire, Math.max(0, dueAt - Date.now())),
    },
    spawn: () => ({ clock: systemClock, ports: { inbox: { ...ports.inbox, publish } } }),
  };
}
