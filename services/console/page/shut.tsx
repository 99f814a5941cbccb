/** Shut: what is shown where the console asks for its token. */
import { useState } from "preact/hooks";
import { isShut, post, Refusal } from "./api.ts";
import { hearAnew } from "./live.ts";
import { Refused } from "./marks.tsx";

export function Shut() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<Refusal | undefined>();
  const show = () => {
    post("/session", { token }).then(
      () => {
        isShut.set(false);
        hearAnew();
      },
      (reason: unknown) => setError(reason instanceof Refusal ? reason : undefined),
    );
  };
  return (
    <main class="shut">
      <h1>sagamesh</h1>
      <p>
        This console asks for its token. Where a proxy signs people in, open it by the address of the proxy.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          show();
        }}
      >
        <label>
          Token
          <input
            type="password"
            autocomplete="current-password"
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button class="main">Open</button>
      </form>
      {error === undefined ? null : <Refused error={error} />}
    </main>
  );
}
