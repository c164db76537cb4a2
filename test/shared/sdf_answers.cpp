// Prints what libsdformat says of a world: one line of JSON for each model, link, frame, joint, shape and inertial.
#include <cstdio>
#include <iostream>
#include <string>

#include <sdf/sdf.hh>

using ignition::math::Pose3d;
using ignition::math::Vector3d;

static std::string Numbers(const Vector3d &v)
{
  char text[128];
  std::snprintf(text, sizeof text, "[%.17g, %.17g, %.17g]", v.X(), v.Y(), v.Z());
  return text;
}

static void Print(const char *kind, const std::string &name, const Pose3d &pose, const std::string &more = "")
{
  std::printf(R"({"kind": "%s", "name": "%s", "pose": [%.17g, %.17g, %.17g, %.17g, %.17g, %.17g, %.17g]%s})" "\n",
    kind, name.c_str(), pose.Pos().X(), pose.Pos().Y(), pose.Pos().Z(), pose.Rot().X(), pose.Rot().Y(),
    pose.Rot().Z(), pose.Rot().W(), more.c_str());
}

// The pose in the frame of the model; what cannot be resolved ends the program.
static Pose3d In(const sdf::SemanticPose &of, const std::string &frame)
{
  Pose3d pose;
  sdf::Errors errors = of.Resolve(pose, frame);
  if (!errors.empty())
  {
    std::cerr << errors[0].Message() << std::endl;
    std::exit(1);
  }
  return pose;
}

static std::string Axis(const sdf::JointAxis *axis, unsigned int index, const Pose3d &model)
{
  Vector3d xyz;
  if (!axis->ResolveXyz(xyz, "__model__").empty())
    std::exit(1);
  char limits[128];
  std::snprintf(limits, sizeof limits, R"(, "limits%u": [%.17g, %.17g])", index, axis->Lower(), axis->Upper());
  return R"(, "axis)" + std::to_string(index) + R"(": )" + Numbers(model.Rot() * xyz) + limits;
}

static void Walk(const sdf::Model *model, const std::string &prefix, const Pose3d &above)
{
  const std::string name = prefix + model->Name(), inside = name + "::";
  const Pose3d at = above * In(model->SemanticPose(), prefix.empty() ? "world" : "__model__");
  Print("model", name, at);
  for (uint64_t i = 0; i < model->LinkCount(); ++i)
  {
    const sdf::Link *link = model->LinkByIndex(i);
    const Pose3d pose = at * In(link->SemanticPose(), "__model__");
    const std::string of = inside + link->Name();
    Print("link", of, pose);
    const auto &inertial = link->Inertial();
    const auto &matrix = inertial.MassMatrix();
    char more[512];
    std::snprintf(more, sizeof more, R"(, "mass": %.17g, "inertia": [%.17g, %.17g, %.17g, %.17g, %.17g, %.17g])",
      matrix.Mass(), matrix.DiagonalMoments().X(), matrix.DiagonalMoments().Y(), matrix.DiagonalMoments().Z(),
      matrix.OffDiagonalMoments().X(), matrix.OffDiagonalMoments().Y(), matrix.OffDiagonalMoments().Z());
    Print("inertial", of, pose * inertial.Pose(), more);
    for (uint64_t k = 0; k < link->CollisionCount(); ++k)
      Print("collision", of + "::" + link->CollisionByIndex(k)->Name(), pose * link->CollisionByIndex(k)->RawPose());
    for (uint64_t k = 0; k < link->VisualCount(); ++k)
      Print("visual", of + "::" + link->VisualByIndex(k)->Name(), pose * link->VisualByIndex(k)->RawPose());
  }
  for (uint64_t i = 0; i < model->FrameCount(); ++i)
    Print("frame", inside + model->FrameByIndex(i)->Name(),
      at * In(model->FrameByIndex(i)->SemanticPose(), "__model__"));
  for (uint64_t i = 0; i < model->JointCount(); ++i)
  {
    const sdf::Joint *joint = model->JointByIndex(i);
    std::string parent, child;
    joint->ResolveParentLink(parent);
    joint->ResolveChildLink(child);
    std::string more = R"(, "type": )" + std::to_string(static_cast<int>(joint->Type())) + R"(, "parent": ")" +
      parent + R"(", "child": ")" + child + "\"";
    for (unsigned int k = 0; k < 2; ++k)
      if (joint->Axis(k) != nullptr)
        more += Axis(joint->Axis(k), k, at);
    Print("joint", inside + joint->Name(), at * In(joint->SemanticPose(), "__model__"), more);
  }
  for (uint64_t i = 0; i < model->ModelCount(); ++i)
    Walk(model->ModelByIndex(i), inside, at);
}

int main(int, char **argv)
{
  sdf::Root root;
  for (const sdf::Error &error : root.Load(argv[1]))
  {
    std::cerr << error.Message() << std::endl;
    return 1;
  }
  const sdf::World *world = root.WorldByIndex(0);
  for (uint64_t i = 0; i < world->ModelCount(); ++i)
    Walk(world->ModelByIndex(i), "", Pose3d::Zero);
  return 0;
}
