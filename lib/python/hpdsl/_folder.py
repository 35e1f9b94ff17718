# SPDX-License-Identifier: Apache-2.0
"""torchvision's ImageFolder and DatasetFolder over a packed dataset, or over a
tree of which there is a snapshot."""

from __future__ import annotations

import errno
import inspect
import os
from typing import (Any, Callable, Dict, List, Optional, Sequence, Tuple, Type,
                    Union)

from ._abi import lib
from ._called import no_argument
from ._dataset import Dataset
from ._errors import NotFoundError, UsageError, one
from ._file import ContentFile
from ._listing import Listing, Samples, Targets, Valid
from ._meant import tell
from ._orphan import watch_trainer
from ._packed import Packed
from ._place import dataset_in
from ._sample import Path, raw, text
from ._snapshot import Snapshot
from ._tree import Tree
from ._vision import VisionDataset

IMG_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif",
                  ".tiff", ".webp")


# Of Dataset, by their names.
_DATASETS = "foreign_owner", "peers", "copy"


def default_loader(file: Any) -> Any:
    """A PIL image in RGB, decoded from memory, whatever image backend is set in
    torchvision."""
    from PIL import Image
    return Image.open(file).convert("RGB")


def _of_files(loader: Callable[..., Any]) -> Callable[..., Any]:
    """torchvision's own take paths."""
    if getattr(loader, "__module__", None) == "torchvision.datasets.folder":
        return default_loader
    return loader


class DatasetFolder(VisionDataset):
    """torchvision's DatasetFolder, of what was packed, or of a tree by its
    snapshot: one class for each folder of root, and of each all files below it
    that have one of the extensions, or for which is_valid_file(path) is true.

    root           path of a packed dataset or stage directory, or of a folder
                   in one, "packed/train"; or an open Dataset; with snapshot,
                   path of the tree: of the folder that was given to
                   hpdsl-snapshot(1), wherever it lies now
    loader         called with a binary file object, whose name is the path;
                   returns the item.  torchvision's own loaders, which take
                   paths, are taken for default_loader
    extensions     in small letters, ".jpg"; either these or is_valid_file
    transform, target_transform
                   of the item, of the target
    is_valid_file  called with a path, os.path.join(root, "a/1.jpg"), and nothing
                   is there to be opened
    allow_empty    classes without files are no error
    snapshot       path of a snapshot of the tree, or a Snapshot
    folder         of an open Dataset, or with snapshot: the folder in it, whose
                   folders are the classes
    foreign_owner, peers, copy
                   as for Dataset

    classes and class_to_idx are what torchvision has for the tree that was
    packed, and so is the order of the samples; the labels with which it was
    packed do not matter.  Empty folders were not packed, so they are no
    classes; what the packer made is no sample.

    With a snapshot they are what torchvision had for the tree when that was
    made, empty classes too.  Nothing is asked of the tree before an item is:
    then its file is read, whole, and has to be there and to have the size that
    the snapshot says, else it is a ChangedError.  Links to folders are followed
    where they lead to one in the snapshot.  Any other link is a file, as it is
    for torchvision but where it leads to a folder outside.  A link that leads
    out is read as whatever it leads to then.

    samples[i] is (path, target), targets[i] the target: sequences that are made
    when they are asked for and cannot be changed.  Others can be put in their
    place: folder[i] is then read as samples[i] says, whose path has to be that
    of a file below root.

    A million files take some 8 MB, which workers share, after a fork and where
    they are started.  Pickled it goes by the path of the dataset or snapshot,
    which has to be the same pack or snapshot then: DiffersError; with
    is_valid_file it takes 8 bytes a file.

    dataset   the Dataset; None: it is of a tree
    snapshot  the tree's Snapshot; None: it is of a dataset

    Raises FileNotFoundError as torchvision does, and what Dataset or Snapshot
    does.
    """

    def __init__(self, root: Union[Path, Dataset],
                 loader: Callable[[Any], Any],
                 extensions: Union[str, Sequence[str], None] = None,
                 transform: Optional[Callable[..., Any]] = None,
                 target_transform: Optional[Callable[..., Any]] = None,
                 is_valid_file: Optional[Callable[[str], bool]] = None,
                 allow_empty: bool = False, *,
                 snapshot: Union[Path, Snapshot, None] = None,
                 folder: Optional[str] = None, **options: bool) -> None:
        if (extensions is None) == (is_valid_file is None):
            raise ValueError("Both extensions and is_valid_file cannot be None "
                             "or not None at the same time")
        _check_named(type(self), options)
        if isinstance(extensions, str):
            extensions = (extensions,)
        self._source: Union[Packed, Tree]
        if snapshot is None:
            self._source, whole = _opened(root, folder, options)
        else:
            self._source, whole = _by_snapshot(root, snapshot, folder, options)
        super().__init__(whole, transform=transform,
                         target_transform=target_transform)
        self.dataset = self._source.dataset
        self.snapshot = self._source.snapshot
        self._all = self._listed(extensions or is_valid_file or ())
        self.classes, self.class_to_idx = self.find_classes(self.root)
        _tell_parts(self, snapshot is None and not isinstance(root, Dataset))
        listing, labels = _chosen(self._all, self.class_to_idx)
        if not allow_empty:
            _refuse_empty(listing, self.class_to_idx, extensions)
        self.loader = _of_files(loader)
        self.extensions = extensions
        self.samples: Sequence[Tuple[str, int]] = Samples(listing, labels)
        self.targets: Sequence[int] = Targets(listing, labels)
        if type(self).make_dataset is not DatasetFolder.make_dataset:
            self.samples = self.make_dataset(
                self.root, self.class_to_idx, extensions, is_valid_file)
            self.targets = [target for _, target in self.samples]

    def _listed(self, valid: Valid) -> Listing:
        try:
            return self._source.classes(os.fspath(self.root), valid)
        except NotFoundError as e:
            raise NotFoundError(
                f"Couldn't find any class folder in {self.root}. {e}",
                e.code) from e

    def find_classes(self, directory: Path) -> Tuple[List[str],
                                                     Dict[str, int]]:
        """The names of the folders in root, sorted, and the target of each.  A
        class made of this one may give some of them, or other targets."""
        classes = [run.name for run in self._all.runs]
        if not classes:
            raise NotFoundError(
                f"Couldn't find any class folder in {text(raw(directory))}.",
                -errno.ENOENT)
        return classes, {name: i for i, name in enumerate(classes)}

    @staticmethod
    def make_dataset(directory: Path, class_to_idx: Dict[str, int],
                     extensions: Union[str, Sequence[str], None] = None,
                     is_valid_file: Optional[Callable[[str], bool]] = None,
                     allow_empty: bool = False) -> List[Tuple[str, int]]:
        """torchvision's: (path, target) of each file of those classes in a folder
        of a dataset, as samples has them.  What a class made of this one has in
        its place says what samples are."""
        if (extensions is None) == (is_valid_file is None):
            raise ValueError("Both extensions and is_valid_file cannot be None "
                             "or not None at the same time")
        if isinstance(extensions, str):
            extensions = (extensions,)
        source, root = _opened(directory, None, {})
        listing, labels = _chosen(source.classes(
            text(raw(root)), extensions or is_valid_file or ()), class_to_idx)
        if not allow_empty:
            _refuse_empty(listing, class_to_idx, extensions)
        return list(Samples(listing, labels))

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        watch_trainer()
        path, target = self.samples[one(index)]
        item = self.loader(self.open(path))
        if self.transform is not None:
            item = self.transform(item)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return item, target

    def open(self, path: Path) -> ContentFile:
        """A file by its path in samples, what the loader gets."""
        return ContentFile(self._source.read(self.inside_of(path), path), path)

    def inside_of(self, path: Path) -> str:
        """The path in the dataset or snapshot, of a file's in samples."""
        inside = self._all.inside(text(raw(path)))
        if inside is None:
            raise NotFoundError(f"{text(raw(path))}: not below {self.root}",
                                -errno.ENOENT)
        return inside


class ImageFolder(DatasetFolder):
    """torchvision's ImageFolder, of what was packed, or of a tree by its
    snapshot:

        hpdsl.torch.ImageFolder("packed/train", transform=...)
        hpdsl.torch.ImageFolder("tree", snapshot="tree.snap", folder="train")

    Arguments are torchvision's, and those of DatasetFolder by their names; see
    there.  Without is_valid_file, files with the suffixes of images are
    samples, in letters of any size."""

    def __init__(self, root: Union[Path, Dataset],
                 transform: Optional[Callable[..., Any]] = None,
                 target_transform: Optional[Callable[..., Any]] = None,
                 loader: Callable[[Any], Any] = default_loader,
                 is_valid_file: Optional[Callable[[str], bool]] = None,
                 allow_empty: bool = False, **options: Any) -> None:
        super().__init__(
            root, loader, IMG_EXTENSIONS if is_valid_file is None else None,
            transform=transform, target_transform=target_transform,
            is_valid_file=is_valid_file, allow_empty=allow_empty, **options)
        self.imgs = self.samples


# As others ask for them; pickles too.
for _kind in DatasetFolder, ImageFolder:
    _kind.__module__ = "hpdsl.torch"


def _check_named(kind: Type[DatasetFolder], options: Dict[str, bool]) -> None:
    """What a folder has no name for is a Dataset's."""
    for name in options:
        if name not in _DATASETS:
            known = {**inspect.signature(kind).parameters,
                     **inspect.signature(DatasetFolder).parameters}
            raise no_argument(kind.__name__, name, [
                *(one for one in known if one != "options"), *_DATASETS])


def _opened(root: Union[Path, Dataset], folder: Optional[str],
            options: Dict[str, bool]) -> Tuple[Packed, Path]:
    """What has the files, and the path that samples' paths begin with."""
    if isinstance(root, Dataset):
        if options:
            raise UsageError(f"{next(iter(options))}: the dataset is open")
        inside, whole = _inside(root.path, folder)
        return Packed(root, inside), whole
    if folder is not None:
        raise UsageError("folder: of a path, write the folder behind it: "
                         f"{os.path.join(text(raw(root)), folder)}")
    root = _as_text(root)
    path, inside = dataset_in(root)
    return Packed(Dataset(path, **options), inside), root


def _by_snapshot(root: Union[Path, Dataset], snapshot: Union[Path, Snapshot],
                 folder: Optional[str], options: Dict[str, bool]
                 ) -> Tuple[Tree, Path]:
    """The same."""
    if isinstance(root, Dataset):
        raise UsageError("snapshot: the root is a dataset, and no tree")
    if options:
        raise UsageError(f"{next(iter(options))}: no argument for a tree")
    if not isinstance(snapshot, Snapshot):
        snapshot = Snapshot(snapshot)
    root = _as_text(root)
    inside, whole = _inside(root, folder)
    return Tree(snapshot, inside), whole


def _as_text(root: Path) -> Path:
    """Others' paths stay what they are, as torchvision's roots do."""
    if isinstance(root, bytes):
        root = text(root)
    return os.path.expanduser(root) if isinstance(root, str) else root


def _inside(root: Any, folder: Optional[str]) -> Tuple[str, Path]:
    inside = "/".join(part for part in (folder or "").split("/")
                      if part not in ("", "."))
    return inside, os.path.join(root, inside) if inside else root


def _chosen(listing: Listing, class_to_idx: Dict[str, int]
            ) -> Tuple[Listing, List[int]]:
    """Those of the classes that are wanted, and the target of each run."""
    if not class_to_idx:
        raise ValueError("'class_to_index' must have at least one entry to "
                         "collect any samples.")
    names = [run.name for run in listing.runs]
    if any(name not in class_to_idx for name in names):
        listing = listing.only(class_to_idx)
        names = [run.name for run in listing.runs]
    return listing, [class_to_idx[name] for name in names]


def _tell_parts(folder: DatasetFolder, by_path: bool) -> None:
    """Once: that the classes are train, val .., as where the root is above them.
    by_path: it was given with the path of the dataset."""
    names = folder.classes
    if not names or not all(lib.split(raw(name), len(raw(name))) for name in names):
        return
    one = (repr(os.path.join(text(raw(folder.root)), names[0])) if by_path
           else f"folder={names[0]!r}")
    tell("parts", f"{folder.root}: its classes are {', '.join(map(repr, names))}, which "
         f"are parts of a dataset most often: the first of them is {one}")


def _refuse_empty(listing: Listing, classes: Dict[str, int],
                  extensions: Optional[Sequence[str]]) -> None:
    empty = set(classes) - {run.name for run in listing.runs
                            if run.first < run.end}
    if not empty:
        return
    said = ("Found no valid file for the classes "
            f"{', '.join(sorted(empty))}. ")
    if extensions is not None:
        said += f"Supported extensions are: {', '.join(extensions)}"
    raise NotFoundError(said, -errno.ENOENT)
