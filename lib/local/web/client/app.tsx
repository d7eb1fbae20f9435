/** The web app. The document names the page that it shows (`data-page`): the local page, the operators' page, or the sign-in. */
import { type ComponentType, render } from "preact";

const pages: Readonly<Record<string, ComponentType>> = {};

const root = document.getElementById("app");
const Page = pages[root?.dataset.page ?? ""];
if (root !== null && Page !== undefined) render(<Page />, root);
