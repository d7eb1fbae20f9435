/** `views.*`, `blocks.*` and `apps.*`: the App Home, and the checks of blocks and manifests. */
import { readJson } from "../../read-json.ts";
import { parseBlocks, parseHomeView } from "../blocks.ts";
import { findManifestErrors } from "../manifest.ts";
import { hasAccessToTeam } from "../reply.ts";
import { findFakePerson } from "../workspace.ts";
import type { Methods } from "./table.ts";

const maxViewBytes = 250_000;

export const viewMethods: Methods<"views" | "blocks" | "apps"> = {
  "views.publish": ({ args: { user_id, view = "" }, caller, state }) => {
    const person = findFakePerson(user_id);
    if (person === undefined || !hasAccessToTeam(caller, person.team)) return { error: "user_not_found" };
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
        ? parseBlocks({ json: readJson(blocks ?? "") ?? Object(readJson(message ?? "")).blocks, refusesMarkdown })
        : parseHomeView(readJson(view));
    if (!("problem" in parsed)) return {};
    const [, pointer = ""] = /\[json-pointer:(.*)\]$/.exec(parsed.problem) ?? [];
    const errors = [{ pointer, code: "failed_constraint", message: parsed.problem }];
    const error = view !== undefined ? "invalid_view" : message !== undefined ? "invalid_message" : "invalid_blocks";
    return { error, errors };
  },

  "apps.manifest.validate": ({ args: { manifest = "" } }) => {
    const errors = findManifestErrors(readJson(manifest));
    return errors.length === 0 ? {} : { error: "invalid_manifest", errors };
  },
};
