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
    const read = parseView(readJson(json));
    if ("problem" in read)
      return { error: "invalid_arguments", response_metadata: { messages: [read.problem] } };
    const trigger = state.modals.find(triggerId);
    if ("error" in trigger) return { error: trigger.error };
    if (!hasAccessToTeam(caller, findTeamOfChannel(trigger.channel).id))
      return { error: "invalid_trigger_id" };
    return { view: toViewPayload(state.modals.open(trigger, read.view)) };
  },

  "views.publish": ({ args: { user_id, view = "" }, caller, state }) => {
    const person = findFakePerson(user_id);
    if (person === undefined || !hasAccessToTeam(caller, person.team))
      return { error: "user_not_found" };
    if (!state.rules.hasHomeTab) return { error: "not_enabled" };
    if (Buffer.byteLength(view) > maxViewBytes) return { error: "view_too_large" };
    const parsed = parseHomeView(readJson(view));
    if ("problem" in parsed) {
      return { error: "invalid_arguments", response_metadata: { messages: [parsed.problem] } };
    }
    state.ephemeral.publishHome({ user: person.id, blocks: parsed.blocks });
    return { view: { type: "home", blocks: parsed.blocks } };
  },

  "blocks.validate": ({ args: { blocks, message, view }, state: { rules } }) => {
    const given = [blocks, message, view].filter((json) => json !== undefined);
    if (given.length !== 1) return { error: "invalid_arguments" };
    const { refusesMarkdown } = rules;
    const parsed =
      view === undefined
        ? parseBlocks({
            json: readJson(blocks ?? "") ?? Object(readJson(message ?? "")).blocks,
            refusesMarkdown,
          })
        : parseHomeView(readJson(view));
    if (!("problem" in parsed)) return {};
    const [, pointer = ""] = /\[json-pointer:(.*)\]$/.exec(parsed.problem) ?? [];
    const errors = [{ pointer, code: "failed_constraint", message: parsed.problem }];
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
