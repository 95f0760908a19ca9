import { useWords } from "./Viewer.tsx"

/** The links of a list that is a part of a page. `first`: undefined on the first page of the list; `next`: undefined on the last one. */
export const PageLinks = ({
  first,
  next
}: {
  readonly first: string | undefined
  readonly next: string | undefined
}) => {
  const t = useWords()
  return first === undefined && next === undefined ? null : (
    <p>
      {first !== undefined && <a href={first}>{t("First page")}</a>}{" "}
      {next !== undefined && <a href={next}>{t("Next page")}</a>}
    </p>
  )
}
