import { rehearse } from "./rehearse.ts";

rehearse("agentcore");
