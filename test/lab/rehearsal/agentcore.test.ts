import { rehearse } from "./kind.ts";

rehearse("agentcore");
