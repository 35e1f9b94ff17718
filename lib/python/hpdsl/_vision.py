# SPDX-License-Identifier: Apache-2.0
"""torchvision's VisionDataset, or what does the same where there is none."""

from __future__ import annotations

import os
from typing import Any, Callable, List, Optional, Tuple

import torch.utils.data as data

__all__ = ["VisionDataset"]


class _Both:
    """Transforms of an item and of its target, as one."""

    def __init__(self, transform: Optional[Callable[..., Any]],
                 target_transform: Optional[Callable[..., Any]]) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, item: Any, target: Any) -> Tuple[Any, Any]:
        if self.transform is not None:
            item = self.transform(item)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return item, target

    def __repr__(self) -> str:
        lines = ["StandardTransform"]
        for head, of in (("Transform: ", self.transform),
                         ("Target transform: ", self.target_transform)):
            if of is not None:
                first, *rest = repr(of).splitlines()
                lines.append(head + first)
                lines += [" " * len(head) + line for line in rest]
        return "\n".join(lines)


class _Plain(data.Dataset):
    """Of this, what class folders need."""

    def __init__(self, root: Any, transforms: Optional[Callable[..., Any]] = None,
                 transform: Optional[Callable[..., Any]] = None,
                 target_transform: Optional[Callable[..., Any]] = None) -> None:
        either = transform is not None or target_transform is not None
        if transforms is not None and either:
            raise ValueError("Only transforms or transform/target_transform "
                             "can be passed as argument")
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = (_Both(transform, target_transform) if either
                           else transforms)

    def __repr__(self) -> str:
        lines: List[str] = [f"Number of datapoints: {len(self)}",
                            f"Root location: {self.root}",
                            *self.extra_repr().splitlines()]
        if self.transforms is not None:
            lines.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}",
                          *("    " + line for line in "\n".join(
                              lines).splitlines())])

    def extra_repr(self) -> str:
        return ""


try:
    from torchvision.datasets import VisionDataset
except Exception:  # one that does not fit this torch may raise anything
    VisionDataset = _Plain  # type: ignore[assignment,misc]
