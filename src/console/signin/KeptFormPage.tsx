import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { cellFields } from "../entities/CellForm.tsx"
import { fieldName } from "../entities/FieldNames.ts"
import { Frame, HiddenFields } from "../Frame.tsx"
import { pageOf, paths } from "../Paths.ts"
import { Value } from "../Values.tsx"
import { useWords } from "../Viewer.tsx"

/** After sign-in: offers the form of a cell that the expired session could not save. */
export const KeptFormPage = ({ csrf, kept }: { readonly csrf: string; readonly kept: Parameters }) => {
  const t = useWords()
  return (
    <Frame title={t("Signed in")} narrow>
      <form method="post" action={paths.editEntity} class="sheet fields">
        <HiddenFields csrf={csrf} />
        {kept.names.map((name) => (
          <input key={name} type="hidden" name={name} value={kept.get(name) ?? ""} />
        ))}
        <p>{t("{field} was not saved yet. You typed:", { field: fieldName(t, kept.get(cellFields.key) ?? "") })}</p>
        <p>
          <Value text={kept.get(cellFields.value) ?? ""} />
        </p>
        <div class="buttons">
          <button type="submit">{t("Save draft")}</button>
          <a class="button plain" href={pageOf(paths.entity, kept.get("id") ?? "")}>
            {t("Discard")}
          </a>
        </div>
      </form>
    </Frame>
  )
}
