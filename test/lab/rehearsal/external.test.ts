import { rehearse } from "./kind.ts";

rehearse("external");
