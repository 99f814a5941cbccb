/** The application file of the host that is measured. */
import { serve } from "./measured.ts";

export { default } from "./sagamesh-sagas.ts";

serve({});
