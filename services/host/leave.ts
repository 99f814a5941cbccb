/**
 * Leave: a saga goes to another host with its partition, in steps that end when it holds nothing here.
 *
 * LE1 It is acked only if every open intent of this host's own has its result in the inbox, and all else was handed on.
 *     Otherwise the next host gets its inputs again, and begins as after a death.
 */
import { ownWorkOf } from "./open-work.ts";
import type { Leaving, Residence } from "./phase.ts";

/** One step (AZ2 of activation.ts): what came goes back, and once what was begun has ended the saga is gone. */
export async function leaveOneStep(self: Residence, leaving: Leaving): Promise<void> {
  const { inputs } = self;
  await giveBack(self, leaving);
  if (leaving.own?.hands.isEmpty() ?? true) await depart(self, leaving);
  else if (inputs.isEmpty()) await inputs.wait();
}

/** What is not taken yet goes to the next host as it came, or as a result. */
async function giveBack({ deps, saga, inputs }: Residence, { own }: Leaving): Promise<void> {
  for (const item of inputs.empty())
    if (item.from === "inbox") await inputs.putBack(item.delivery);
    else
      await own?.hands
        .reportObserved(item.event, item.performed)
        .catch((error: unknown) => deps.log.debug({ err: error, sagaId: saga }, "result not reported"));
}

/** LE1. */
async function depart(self: Residence, { own, owesIntents }: Leaving): Promise<void> {
  const isReported =
    own === undefined ||
    !own.isProven ||
    (!owesIntents &&
      ownWorkOf(own.loaded.state, self.deps.placementOf).every((open) => own.hands.isReported(open)));
  if (isReported) await self.inputs.ackHeld();
  await self.drop("its partition is another host's");
}
