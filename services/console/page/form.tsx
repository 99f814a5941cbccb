/** Form: what a person types where a schema says what is meant. */
import { type Field, fieldsOf, type Typed, typedOf } from "./fields.ts";

interface Props {
  readonly fields: readonly Field[];
  readonly typed: Typed;
  readonly onTyped: (typed: Typed) => void;
  /** Where the whole value is one field: what is asked. */
  readonly label: string;
}

/** The fields of a schema; what was typed is the owner's, so that it outlives what is shown. */
export function Fields({ fields, typed, onTyped, label }: Props) {
  return (
    <div class="fields">
      {fields.map((field) => (
        <label key={field.name}>
          <span>
            {field.name === "" ? label : field.name}
            {field.isRequired || field.name === "" ? "" : <span class="muted"> (may be left out)</span>}
          </span>
          {field.help === "" ? null : <span class="help muted">{field.help}</span>}
          <Input
            field={field}
            text={typed.get(field.name) ?? ""}
            onText={(text) => onTyped(new Map(typed).set(field.name, text))}
          />
        </label>
      ))}
    </div>
  );
}

interface InputProps {
  readonly field: Field;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function Input({ field: { kind, choices, isRequired, name }, text, onText }: InputProps) {
  if (kind === "choice" || kind === "yesno")
    return (
      <select value={text} required={isRequired} onChange={(event) => onText(event.currentTarget.value)}>
        <option value="" />
        {kind === "yesno" ? (
          <>
            <option value="true">yes</option>
            <option value="false">no</option>
          </>
        ) : (
          choices.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))
        )}
      </select>
    );
  if (kind === "number" || kind === "whole")
    return (
      <input
        inputMode={kind === "whole" ? "numeric" : "decimal"}
        required={isRequired}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  return (
    <textarea
      rows={kind === "text" ? 2 : 4}
      required={isRequired && kind === "json" && name !== ""}
      class={kind === "json" ? "code" : undefined}
      placeholder={kind === "json" && name !== "" ? "JSON" : undefined}
      value={text}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

/** A form for a value that is there: by its schema where that has a field for all of it, else as JSON. */
export function formFor(schema: unknown, value: unknown): { fields: readonly Field[]; typed: Typed } {
  const fields = fieldsOf(schema);
  const typed = typedOf(fields, value);
  if (typed !== undefined) return { fields, typed };
  const whole = fieldsOf(undefined);
  return { fields: whole, typed: typedOf(whole, value) ?? new Map() };
}
