import { rehearse } from "./kind.ts";

rehearse("lambda");
