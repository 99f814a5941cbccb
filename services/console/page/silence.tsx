/** Silence: that the server gives no answer, said over the page, so that nothing under it moves. */
import { silentSince } from "./api.ts";
import { useNow } from "./marks.tsx";
import { useStore } from "./store.ts";
import { lasted } from "./words.ts";

/** So short a silence is not worth a word. Milliseconds. */
const shortMs = 1_500;

/** `then`: what comes of what was asked. */
export function Silence({ then = "it is asked again" }: { readonly then?: string }) {
  const since = useStore(silentSince);
  const now = useNow(1_000, since !== undefined);
  if (since === undefined || now - since < shortMs) return null;
  return (
    <div class="silence" role="alert">
      No answer for {lasted(now - since)}. What is shown is as it was; {then}.
    </div>
  );
}
