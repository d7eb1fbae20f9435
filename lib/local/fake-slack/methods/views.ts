/** `views.*`, `blocks.*` and `apps.*`: the App Home, modals, and the checks of blocks and manifests. */
import { readJson } from "../../read-json.ts";
import { parseBlocks, parseHomeView } from "../blocks.ts";
import { findManifestErrors } from "../manifest.ts";
import { hasAccessToTeam } from "../reply.ts";
import { parseView, toViewPayload } from "../views.ts";
import { findFakePerson, findTeamOfChannel } from "../workspace.ts";
import type { Methods } from "./table.ts";

const maxViewBytes = 250_000;

const triggerPattern = /^\d+\.\d+\.\d+\.[0-9a-f]+$/;

export const viewMethods: Methods<"views" | "blocks" | "apps"> = {
  "views.open": ({ args: { trigger_id: triggerId, view: json }, caller, state }) => {
    if (triggerId === undefined || json === undefined) return { error: "invalid_arguments" };
    if (Buffer.byteLength(json) > maxViewBytes) return { error: "view_too_large" };
    if (!triggerPattern.test(triggerId)) return { error: "invalid_trigger_id" };
    const result = parseView(readJson(json));
    if ("problem" in result)
      return { error: "invalid_arguments", response_metadata: { messages: [result.problem] } };
    const trigger = state.modals.find(triggerId);
    if ("error" in trigger) return { error: trigger.error };
    if (!hasAccessToTeam(caller, findTeamOfChannel(trigger.channel).id))
      return { error: "invalid_trigger_id" };
    return { view: toViewPayload(state.modals.open(trigger, result.view)) };
  },

  "views.publish": ({ args: { user_id, view = "" }, caller, state }) => {
    const person = findFakePerson(user_id);
    if (person === undefined || !hasAccessToTeam(caller, person.team))
      return { error: "user_not_found" };
    if (!state.rules.hasHomeTab) return { error: "not_enabled" };
    if (Buffer.byteLength(view) > maxViewBytes) return { error: "view_too_large" };
    const result = parseHomeView(readJson(view));
    if ("problem" in result) {
      return { error: "invalid_arguments", response_metadata: { messages: [result.problem] } };
    }
    state.ephemeral.publishHome({ user: person.id, blocks: result.blocks });
    return { view: { type: "home", blocks: result.blocks } };
  },

  "blocks.validate": ({ args: { blocks, message, view }, state: { rules } }) => {
    const contents = [blocks, message, view].filter((json) => json !== undefined);
    if (contents.length !== 1) return { error: "invalid_arguments" };
    const { refusesMarkdown } = rules;
    const result =
      view === undefined
        ? parseBlocks({
            json: readJson(blocks ?? "") ?? Object(readJson(message ?? "")).blocks,
            refusesMarkdown,
          })
        : parseHomeView(readJson(view));
    if (!("problem" in result)) return {};
    const [, pointer = ""] = /\[json-pointer:(.*)\]$/.exec(result.problem) ?? [];
    const errors = [{ pointer, code: "failed_constraint", message: result.problem }];
    const error =
      view !== undefined
        ? "invalid_view"
        : message !== undefined
          ? "invalid_message"
          : "invalid_blocks";
    return { error, errors };
  },

  "apps.manifest.validate": ({ args: { manifest = "" } }) => {
    const errors = findManifestErrors(readJson(manifest));
    return errors.length === 0 ? {} : { error: "invalid_manifest", errors };
  },
};
