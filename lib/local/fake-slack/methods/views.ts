/** `views.*`: modals. */
import { readJson } from "../../read-json.ts";
import { hasAccessToTeam } from "../reply.ts";
import { parseView, toViewPayload } from "../views.ts";
import { findTeamOfChannel } from "../workspace.ts";
import type { Methods } from "./table.ts";

const triggerPattern = /^\d+\.\d+\.\d+\.[0-9a-f]+$/;

export const viewMethods: Methods<"views"> = {
  "views.open": ({ args: { trigger_id: triggerId, view: json }, caller, state }) => {
    if (triggerId === undefined || json === undefined) return { error: "invalid_arguments" };
    if (!triggerPattern.test(triggerId)) return { error: "invalid_trigger_id" };
    const read = parseView(readJson(json));
    if ("problem" in read) return { error: "invalid_arguments", response_metadata: { messages: [read.problem] } };
    const trigger = state.modals.find(triggerId);
    if ("error" in trigger) return { error: trigger.error };
    if (!hasAccessToTeam(caller, findTeamOfChannel(trigger.channel).id)) return { error: "invalid_trigger_id" };
    return { view: toViewPayload(state.modals.open(trigger, read.view)) };
  },
};
