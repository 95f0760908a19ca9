import type { ListedEntity } from "../../catalog/MerchantListsRepo.ts"
import { Icon } from "../Icon.tsx"
import type { PictureAddress, PictureWidth } from "./PictureAddresses.ts"

/** A picture beside its name, so screen readers skip it. Without a picture: a neutral background. */
export const Thumbnail = ({
  address,
  picture,
  width
}: {
  readonly picture: ListedEntity["picture"]
  readonly width: PictureWidth
  readonly address: PictureAddress
}) =>
  picture === null || picture.url === "" ? (
    <span class={`thumb w${width} empty`}>
      <Icon name="image" />
    </span>
  ) : (
    <img
      src={address(picture.url, width)}
      class={`thumb w${width}`}
      width={width}
      height={width}
      alt=""
      loading="lazy"
      decoding="async"
    />
  )
