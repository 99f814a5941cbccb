/** Loaded before a host: it keeps no rows and knows of none, as the versions before there were any. */
import { plantFault } from "../simulation/plant.ts";

plantFault({
  name: "a host without rows",
  rule: "hosts keep the listing",
  edits: [{ file: "services/nats/open.ts", find: "listing: createListing(context),", replace: "" }],
});
