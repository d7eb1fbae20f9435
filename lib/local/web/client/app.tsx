/** The web app. The document names the page that it shows (`data-page`): the local page, the operators' page, or the sign-in. */
import { type ComponentType, render } from "preact";
import { LocalPage } from "./local/page.tsx";

const pages: Readonly<Record<string, ComponentType>> = { local: LocalPage };

const root = document.getElementById("app");
const Page = pages[root?.dataset.page ?? ""];
if (root !== null && Page !== undefined) render(<Page />, root);
