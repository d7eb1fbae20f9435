import { rehearse } from "./rehearse.ts";

rehearse("lambda");
