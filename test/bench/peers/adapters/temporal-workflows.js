// The workflows that Temporal runs. It bundles this file, copied beside the packages that it imports.
import { condition, defineSignal, proxyActivities, setHandler, workflowInfo } from "@temporalio/workflow";

const { doStep, decide, look } = proxyActivities({ startToCloseTimeout: "10 seconds" });

const more = defineSignal("more");

export async function steps(count, ms, stays) {
  const saga = workflowInfo().workflowId;
  let signals = 0;
  setHandler(more, () => {
    signals += 1;
  });
  for (let n = 0; n < count; n++) await doStep(saga, ms);
  if (!stays) return;
  for (;;) {
    await condition(() => signals > 0);
    signals -= 1;
    await doStep(saga, ms);
  }
}

export async function fan(width) {
  const saga = workflowInfo().workflowId;
  await Promise.all(Array.from({ length: width }, (_, n) => doStep(`${saga}-${n}`, 0)));
}

// What is said is kept by the workflow and not sent to each activity: 500 times a conversation of 800 KB would end it,
// whose history may have 50 MB.
export async function talk(decisions, chars) {
  const saga = workflowInfo().workflowId;
  const messages = [];
  for (let n = 0; n < decisions; n++) {
    messages.push({ role: "assistant", content: await decide(saga, n, chars) });
    messages.push({ role: "tool", content: await look(n, chars) });
  }
  return messages.length;
}
