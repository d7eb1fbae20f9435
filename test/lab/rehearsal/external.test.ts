import { rehearse } from "./rehearse.ts";

rehearse("external");
