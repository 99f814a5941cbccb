/** What a mesh's hosts serve where they are to run plans: the plans are listed. */
import { defineApp } from "sagamesh";
import { offsite, tools } from "../examples/planned-bookings.ts";

export default defineApp({ tools, plans: [offsite] });
