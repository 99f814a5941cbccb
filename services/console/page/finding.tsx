/** Finding: what a person says became of a call that is open outside, or in doubt. */
import { useState } from "preact/hooks";
import type { FindingBody, TimelineItem, ToolSchema } from "../documents.ts";
import { misfit } from "./acts.tsx";
import { post, useAsked } from "./api.ts";
import { Asking } from "./asking.tsx";
import { fieldsOf, type Typed, valueIn } from "./fields.ts";
import { Fields } from "./form.tsx";

const calls: ReadonlySet<string> = new Set(["tool", "compensation"]);

/** Whether a person may say how it ended. */
export const isUnsettled = ({ kind, status, deferred }: TimelineItem): boolean =>
  calls.has(kind) && (status === "in_doubt" || (status === "open" && deferred === true));

interface Props {
  readonly saga: string;
  readonly item: TimelineItem;
  readonly onClose: () => void;
}

/** Asks whether it happened, and for what it gave by the tool's own schema. */
export function FindingDialog({ saga, item, onClose }: Props) {
  const { data } = useAsked<ToolSchema>(`/tools/${encodeURIComponent(item.label)}/output`);
  const [happened, setHappened] = useState<boolean>();
  const [typed, setTyped] = useState<Typed>(new Map());
  const [reason, setReason] = useState("");
  const fields = fieldsOf(data?.schema);
  const send = () => {
    const read = happened === true ? valueIn(fields, typed) : { value: null };
    if ("fault" in read) return Promise.reject(misfit(read.fault));
    const body: FindingBody = {
      intent: item.intent ?? item.id,
      finding:
        happened === true
          ? { outcome: "happened", output: read.value }
          : { outcome: "did_not_happen", ...(reason === "" ? {} : { reason }) },
    };
    return post(`/sagas/${encodeURIComponent(saga)}/findings`, body);
  };
  return (
    <Asking
      title="Settle"
      about={`${item.label} of ${saga}`}
      isGrave
      isReady={happened !== undefined && data !== undefined}
      send={send}
      onClose={onClose}
    >
      <p>It counts for ever: look outside first.</p>
      <fieldset>
        <legend>Did it happen?</legend>
        {[true, false].map((one) => (
          <label key={String(one)} class="radio">
            <input
              type="radio"
              name="happened"
              checked={happened === one}
              onChange={() => setHappened(one)}
            />
            {one ? "it happened" : "it did not happen"}
          </label>
        ))}
      </fieldset>
      {happened === true ? (
        <Fields fields={fields} typed={typed} onTyped={setTyped} label="What it gave: JSON" />
      ) : null}
      {happened === false ? (
        <label>
          Reason
          <textarea rows={2} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
      ) : null}
    </Asking>
  );
}
